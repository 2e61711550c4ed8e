# The first run never ends.
gets
loop {}
