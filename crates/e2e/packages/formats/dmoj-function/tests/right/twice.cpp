int twice(int n) { return 2 * n; }
int main() { return twice(1); }
