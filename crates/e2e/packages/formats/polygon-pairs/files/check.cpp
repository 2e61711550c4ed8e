// As testlib's checkers are called and answer: input, output, answer; exit code 7 with points for half the work.
#include <cstdio>
#include <fstream>

int main(int argc, char **argv) {
    if (argc != 4) return 3;
    long pairs, least, found, other;
    std::ifstream output(argv[2]), answer(argv[3]);
    answer >> pairs >> least;
    if (!(output >> found >> other)) return 2;
    if (found != pairs) return 1;
    if (other == least) return 0;
    std::fprintf(stderr, "points 5 the second number is wrong\n");
    return 7;
}
