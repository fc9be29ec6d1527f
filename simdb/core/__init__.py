"""What all wings share: errors, options, values, results, columns, threads and the kernel."""
