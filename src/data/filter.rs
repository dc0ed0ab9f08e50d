//! Row filters such as `season != 1` or `sex == "F" and age >= 30`.
