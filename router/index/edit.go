package index

// edit marks what one change of an index has copied already and may therefore change in place. Its size is not zero,
// because pointers to distinct values of size zero may be equal.
type edit struct{ _ byte }
