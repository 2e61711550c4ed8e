long long greater(long long a, long long b);
