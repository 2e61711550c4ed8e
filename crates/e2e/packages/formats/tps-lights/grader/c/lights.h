void measure(int count, const int *lamps, long long *total, int *brightest);
