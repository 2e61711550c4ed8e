long twice(long n);
