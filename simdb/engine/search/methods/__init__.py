"""Search methods: modules that carry out the plans of each method."""
