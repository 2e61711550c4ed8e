#include <bits/stdc++.h>
#include "h.hpp"
using namespace std;
int main(){ locale::global(locale("")); long a,b; cin>>a>>b; thread t([&]{a+=0;}); t.join(); cout<<add(a,b)<<endl; }
