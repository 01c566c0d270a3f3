"""The paper on Midpoint Mixup: its statements (`paper`), judged on runs (`judge_run`, `over_runs`) or on data sets (`section_3`)."""
