"""Search methods: how the plans of each method are carried out."""
