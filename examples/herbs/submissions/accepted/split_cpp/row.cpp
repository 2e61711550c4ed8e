#include "row.hpp"

#include <algorithm>

Row::Row(int beds) {
    best_.reserve(beds + 1);
    best_.push_back(0);
}

void Row::offer(int leaves, int k) {
    const int beds = static_cast<int>(best_.size()) - 1;
    best_.push_back(std::max(best_.back(), leaves + best_[std::max(beds - k, 0)]));
}

long long Row::best() const { return best_.back(); }
