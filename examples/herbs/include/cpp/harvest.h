/* The greatest number of leaves that can be picked from `beds` beds when any two picked ones have at least k beds between them. */
long long harvest(const int *leaves, int beds, int k);
