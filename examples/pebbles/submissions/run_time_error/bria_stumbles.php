<?php
throw new RuntimeException('the bowl is broken');
