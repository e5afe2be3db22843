"""A checker of certificates that shares nothing with the program that wrote them.

    python -m volta.replay CERTIFICATE.json

It reads both PTX texts with a reader of its own, executes them with an interpreter of its own on rationals of 60 to 100
digits near a sample of every region of the certificate and elsewhere, brings what tests on data compare to 0 and looks there
and beyond, looks for races by barriers, and compares every element that is written. What is compared follows from the texts;
what makes the claim smaller has to be named by an assumption. It needs mpmath alone.

Not claimed: that the kernels are equal on inputs that it did not try. A wrong proof would have to agree in every digit on
all of them. What else a certificate says and a replay takes from it, the replay lists.

In the order of reading: `certificate` (what is claimed), `shape` (what the texts say of it), `premises` (what is taken for
granted), `checker` (what is tried and compared), `inputs`, `steering` (inputs on which tests turn over), `library` (code of
functions of the CUDA library), `values` (known bits, floats that data decide), `ptx` (the reader), `machine` (threads and where
they meet), `memory` (bytes and races), `functions` (the table of what instructions compute), `operations`, `memory_operations`,
`warp_operations` (what they do).
"""
