//! Golden tests: real output of the runners and checkers.
