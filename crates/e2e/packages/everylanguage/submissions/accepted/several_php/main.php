<?php require "util.php"; fscanf(STDIN,"%d %d",$a,$b); echo add($a,$b),"
";