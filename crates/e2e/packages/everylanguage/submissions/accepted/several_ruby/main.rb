require_relative "util"
a,b=gets.split.map(&:to_i)
puts add(a,b)
