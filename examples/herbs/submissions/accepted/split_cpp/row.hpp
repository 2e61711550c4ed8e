#pragma once

#include <vector>

// The best harvest of each beginning of a row.
class Row {
public:
    explicit Row(int beds);
    void offer(int leaves, int k);
    long long best() const;

private:
    std::vector<long long> best_;
};
