static class U { public static long Add(long a,long b){ return a+b; } }
