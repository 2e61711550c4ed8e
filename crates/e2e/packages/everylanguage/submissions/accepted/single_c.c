#include <stdio.h>
#include <math.h>
int main(){long a,b; if(scanf("%ld %ld",&a,&b)!=2) return 1; printf("%ld\n",(long)floor(a+b)); return 0;}
