// First pass: takes Bria's pebbles and rolls them about. Second pass: compares Tove's number with hers.
// Which pass it is follows from a file of its own in the feedback directory, which lasts from pass to pass. The number comes from the answer
// file: judges differ in whether the input file of the second pass is the test's or `nextpass.in`.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int accepted = 42, wrong = 43, fault = 1;
constexpr int most_pebbles = 60, highest_pebble = 100;
constexpr std::size_t longest_token = 19;
constexpr long most_bytes = 1L << 20;

std::string feedback;

void note(const std::string &text) { std::ofstream(feedback + "judgemessage.txt", std::ios::app) << text << '\n'; }

[[noreturn]] void reject(const std::string &why) {
    note(why);
    std::exit(wrong);
}

bool is_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::optional<std::string> token() {
    static long bytes = 0;
    std::string word;
    for (int c; (c = std::getchar()) != EOF;) {
        if (++bytes > most_bytes) reject("output too long");
        if (is_space(c)) {
            if (!word.empty()) return word;
            continue;
        }
        if (c < '0' || c > '9') reject("neither digit nor white space in the output");
        if (word.size() == longest_token) reject("number too long: " + word + "...");
        word.push_back(static_cast<char>(c));
    }
    return word.empty() ? std::nullopt : std::optional(word);
}

long long number(long long highest) {
    const auto word = token();
    if (!word) reject("output ends too early");
    const long long value = std::strtoll(word->c_str(), nullptr, 10);
    if (value > highest) reject("number too large: " + *word);
    return value;
}

void expect_end() {
    if (const auto rest = token()) reject("output goes on after the end: " + *rest);
}

void first_pass(long long x, const std::string &marker) {
    std::vector<int> pebbles(number(most_pebbles));
    std::vector<bool> seen(highest_pebble + 1);
    for (int &pebble : pebbles) {
        pebble = static_cast<int>(number(highest_pebble));
        if (pebble == 0) reject("no such pebble: 0");
        if (seen[pebble]) reject("pebble twice: " + std::to_string(pebble));
        seen[pebble] = true;
    }
    expect_end();
    // The order must not depend on the order of the output, only on the set.
    std::sort(pebbles.begin(), pebbles.end());
    std::mt19937_64 wind(static_cast<unsigned long long>(x) + 1);
    for (std::size_t i = pebbles.size(); i > 1; i--) std::swap(pebbles[i - 1], pebbles[wind() % i]);

    std::ofstream(marker) << "seen\n";
    std::ofstream next(feedback + "nextpass.in");
    next << "look " << pebbles.size();
    for (int pebble : pebbles) next << ' ' << pebble;
    next << '\n';
    if (!next.flush()) std::exit(fault);
    note(std::to_string(pebbles.size()) + " pebbles");
}

void second_pass(long long x) {
    const long long found = number(1000000000000000000LL);
    expect_end();
    if (found != x) reject("found " + std::to_string(found) + " instead of " + std::to_string(x));
    note("found");
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 4) return fault;
    feedback = argv[3];
    std::ifstream answer(argv[2]);
    long long x = 0;
    if (!(answer >> x)) return fault;

    const std::string marker = feedback + "first_pass_done";
    if (std::ifstream(marker).good()) second_pass(x);
    else first_pass(x, marker);
    return accepted;
}
