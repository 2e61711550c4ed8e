# Moves on from a friend only after k postcards, but looks at the same other friend for ever.
n, k = gets.split.map(&:to_i)
written = 0
written += 1 if k > n while written < k
puts 'no'
