#include <bits/stdc++.h>
using namespace std;

int main() {
    locale::global(locale(""));
    long a, b;
    cin >> a >> b;
    thread([&] { a += b; }).join();
    cout << a << endl;
}
