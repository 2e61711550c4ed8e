// Accepts any arrangement of postcards that keeps all promises.
// Output of submissions is read byte by byte: tokens longer than any valid one are never stored, and anything odd is wrong, not an error.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace {

constexpr int accepted = 42, wrong = 43, fault = 1;
constexpr std::size_t longest_token = 8;
// More than the largest valid output has, whatever the white space between its tokens.
constexpr long most_bytes = 4L << 20;

std::string feedback;

[[noreturn]] void reject(const std::string &why) {
    std::ofstream(feedback + "judgemessage.txt", std::ios::app) << why << '\n';
    std::exit(wrong);
}

bool is_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The next token of the output; nothing at its end.
std::optional<std::string> token() {
    static long bytes = 0;
    std::string word;
    for (int c; (c = std::getchar()) != EOF;) {
        if (++bytes > most_bytes) reject("output too long");
        if (is_space(c)) {
            if (!word.empty()) return word;
            continue;
        }
        if (c < 0x21 || c > 0x7e) reject("byte that is not printable");
        if (word.size() == longest_token) reject("token too long: " + word + "...");
        word.push_back(static_cast<char>(c));
    }
    return word.empty() ? std::nullopt : std::optional(word);
}

int friend_number(int n) {
    const auto word = token();
    if (!word) reject("output ends too early");
    if (word->find_first_not_of("0123456789") != std::string::npos) reject("not a number: " + *word);
    const long value = std::strtol(word->c_str(), nullptr, 10);
    if (value < 1 || value > n) reject("no such friend: " + *word);
    return static_cast<int>(value);
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 4) return fault;
    feedback = argv[3];
    std::ifstream input(argv[1]);
    int n = 0, k = 0;
    if (!(input >> n >> k)) return fault;
    // n friends send nk postcards, at most one between each of the n(n-1)/2 pairs.
    const bool possible = 2 * k <= n - 1;

    const auto answer = token();
    if (!answer) reject("empty output");
    if (*answer != "yes" && *answer != "no") reject("neither yes nor no: " + *answer);
    if ((*answer == "yes") != possible) reject(possible ? "an arrangement exists" : "no arrangement exists");

    std::vector<std::vector<bool>> writes(n + 1, std::vector<bool>(n + 1));
    for (int from = 1; possible && from <= n; from++) {
        for (int card = 0; card < k; card++) {
            const int to = friend_number(n);
            const std::string pair = std::to_string(from) + " -> " + std::to_string(to);
            if (from == to) reject("writes to themselves: " + pair);
            if (writes[from][to]) reject("writes twice: " + pair);
            if (writes[to][from]) reject("both ways: " + pair);
            writes[from][to] = true;
        }
    }
    if (const auto rest = token()) reject("output goes on after the end: " + *rest);
    return accepted;
}
