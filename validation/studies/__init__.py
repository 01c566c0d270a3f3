"""The studies: one module each, of the shape that `lib.study.Study` describes."""
