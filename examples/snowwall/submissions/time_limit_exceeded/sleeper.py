# Uses no processor time, yet never ends.
from time import sleep

while True:
    sleep(60)
