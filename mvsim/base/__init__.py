"""What every room needs: errors, names in messages, options, inputs, signals, optional extras."""
