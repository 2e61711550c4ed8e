# Roman numerals: conversion both ways, checks by regular expression, sorting and grouping.
ROMAN = [[1000, 'M'], [900, 'CM'], [500, 'D'], [400, 'CD'], [100, 'C'], [90, 'XC'], [50, 'L'],
         [40, 'XL'], [10, 'X'], [9, 'IX'], [5, 'V'], [4, 'IV'], [1, 'I']].freeze
VALUE = { 'I' => 1, 'V' => 5, 'X' => 10, 'L' => 50, 'C' => 100, 'D' => 500, 'M' => 1000 }.freeze
VALID = /\AM{0,3}(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})\z/

def to_roman(n)
  out = +''
  ROMAN.each do |value, text|
    while n >= value
      out << text
      n -= value
    end
  end
  out
end

def from_roman(s)
  s.each_char.each_cons(2).sum { |a, b| VALUE[a] < VALUE[b] ? -VALUE[a] : VALUE[a] } + VALUE[s[-1]]
end

x = 8
valid = 0
hash = 0
words = (1..3999).map { |n| to_roman(n) }
words.each.with_index(1) { |w, n| raise w unless from_roman(w) == n && w.match?(VALID) }
85_000.times do
  x = (x * 1103515245 + 12345) & 0x7fffffff
  w = Array.new(3 + (x >> 12) % 6) { |i| 'IVXLCDM'[(x >> (10 + 2 * i)) % 7] }.join
  next unless w =~ VALID
  valid += 1
  hash = (hash * 31 + from_roman(w)) % 1_000_003
end
groups = words.group_by(&:length).map { |k, v| [k, v.min, v.size] }.sort
order = words.sort_by { |w| [w.count('I'), w.reverse] }
digits = order.each_slice(7).map { |s| s.join.tr('IVX', '159').squeeze.size }.sum
puts "#{valid} #{hash} #{groups.last.join('/')} #{order[1999]} #{digits}"
