final class Matrix {
    private static final long P = 1_000_000_007L;
    private final long a, b, c, d;

    Matrix(long a, long b, long c, long d) {
        this.a = a % P;
        this.b = b % P;
        this.c = c % P;
        this.d = d % P;
    }

    Matrix times(Matrix m) {
        return new Matrix(a * m.a + b * m.c, a * m.b + b * m.d, c * m.a + d * m.c, c * m.b + d * m.d);
    }

    Matrix power(long n) {
        if (n == 0) return new Matrix(1, 0, 0, 1);
        Matrix half = times(this).power(n / 2);
        return n % 2 == 1 ? half.times(this) : half;
    }

    long firstRow() {
        return (a + b) % P;
    }
}
