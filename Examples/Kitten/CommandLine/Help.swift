extension Arguments {
  /// The output of `--help`.
  static let help = """
    USAGE: kitten [OPTION]... [FILE|DIRECTORY]...

    Makes pictures smaller: reads binary PPM (P6, 8 or 16 bits), resizes each to several sizes by averaging
    over areas, and writes every size as a PNG named after its picture, such as kitten-64.png.

    Of a directory, the files named *.ppm and *.pnm are used, but not those in subdirectories. Without any input,
    the photograph of a kitten that comes with this example is used. In a path, ~/ at the beginning is the home folder.

    OPTIONS:
      --sizes N,N,...  the longer side of each result in pixels, 1 to \(Image.sizeLimit) (default: 64,128,256);
                       nothing is enlarged: a smaller picture keeps its size
      --output DIR     where to write; created if missing, existing files are replaced (default: kittens)
      --jobs N         how many steps execute at a time, 1 to \(jobLimit) (default: the number of processors)
      --journal FILE   remember finished steps in FILE until the job is done: a killed or interrupted job is
                       continued by the next run with the same FILE
      --graph          print the steps as a Mermaid diagram instead of executing them
      --trace FILE     write a trace of the job, for ui.perfetto.dev or chrome://tracing
      --timeline FILE  draw the job as a picture: which step executed when, and what it waited for (SVG)
      --report FILE    report what took the time, and why steps failed or were left out; as a page if the name ends
                       in .html, otherwise as text; - is standard output
      -h, --help       print this

    EXIT STATUS: 0 when all pictures were made, 1 when a picture failed (messages on standard error name the file;
    the other files are still processed), 130 when interrupted by Ctrl-C. The second Ctrl-C
    ends immediately.
    """
}
