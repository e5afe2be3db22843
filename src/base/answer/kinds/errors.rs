//! Kinds of usage and input errors.

use super::kinds;

kinds! {
    /// Why nothing was run: exit status 2.
    ErrorKind of Error {
        Usage "usage" {
            "The command line is wrong.",
            "A flag is unknown, lacks its value, or contradicts another one.",
            "volta check ref.ptx"
        }
        File "file" {
            "A file cannot be read or written.",
            "It does not exist, is no regular file, or is no text.",
            "volta race no/such.ptx"
        }
        Syntax "syntax" {
            "A file is not valid PTX.",
            "Each error has its place; all of them are reported at once.",
            "add.f32 %f1 %f2;     // a comma is missing"
        }
        Entry "entry" {
            "The entry function cannot be chosen.",
            "The file has none, several, or none of the name that was given.",
            "volta race two_kernels.ptx             # which one?"
        }
        Binding "binding" {
            "A binding does not fit the kernel.",
            "A parameter that no kernel has, a value that its type cannot hold, or two bindings of the same bytes.",
            "volta race k.ptx --arg 0=3             # parameter 0 is a pointer"
        }
        Launch "launch" {
            "The launch is not possible.",
            "A block is missing, or contradicts the kernel, or a size is beyond what any device has.",
            "volta race k.ptx --threads 4096"
        }
        Manifest "manifest" {
            "A manifest or a --spec file is wrong.",
            "A key is unknown or stands in the wrong table, or there is no entry to run.",
            "[[check]]\nthread = 4"
        }
        Formula "formula" {
            "A formula cannot be read.",
            "The place in the formula is shown.",
            "volta check --formula 'y[i] = ' k.ptx"
        }
        Fact "fact" {
            "A fact of --assume cannot be read or contradicts others.",
            "Facts are comparisons of integers, ranges of elements, and a few properties.",
            "volta race k.ptx --assume 'n =< 3'"
        }
        Contents "contents" {
            "The contents of an array are missing or do not fit it.",
            "As many values as elements are needed, each one that its type can hold.",
            "volta run k.ptx --arg '0=in:f32[4]=[1,2,3]'"
        }
        Limit "limit" {
            "A request of a server ended before it had an answer.",
            "Its time ran out, it was cancelled, or its process died; only requests without a verdict end so.",
            "{\"id\": 7, \"op\": \"prepare\", ...}        cancelled by another request"
        }
        Internal "internal" {
            "volta itself failed, and claims nothing.",
            "This is a mistake in volta, not in the input; please report it with the files.",
            "internal error, nothing is claimed: ..."
        }
    }
}
