# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The picture of the README: gnuplot -e "client='client.txt'; server='server.txt'" doc/rdma_lat.gp
# from what `rdma_lat -U --warmup 0` printed on both ends.
set terminal svg size 1000,440 font "sans-serif,14" background "white"
set output "doc/rdma_lat.svg"
set datafile separator ","
set logscale y
set xlabel "lap"
set ylabel "half round trip [usec]"
set title "rdma_lat -U --warmup 0, 8 bytes, soft-RoCE in a virtual machine: start-up, steady state, hiccups" noenhanced
set key outside bottom center horizontal
set grid y
set xrange [0:1001]
n = "grep -E '^[0-9]+, ' "
plot "<" . n . server using 1:2 with points pointtype 7 pointsize 0.35 linecolor rgb "#d95f02" title "server", \
     "<" . n . client using 1:2 with points pointtype 7 pointsize 0.35 linecolor rgb "#1b6ca8" title "client"
