#include "twice.h"

long twice(long n) { return n + n; }
