extension Arguments {
  /// The text that `--help` prints.
  static let help = """
    USAGE: kitten [OPTION]... [FILE|DIRECTORY]...

    Makes pictures smaller: reads binary PPM files (P6, 8 or 16 bits), resizes each picture to several sizes by averaging
    over areas, and writes each size as a PNG file that is named after the picture, such as kitten-64.png.

    In a directory, the files named *.ppm and *.pnm are used, but not those in subdirectories. If there is no input,
    the photograph of a kitten that comes with this example is used. At the start of a path, ~/ is the home folder.

    OPTIONS:
      --sizes N,N,...  the longer sides of the results in pixels, 1 to \(Image.sizeLimit) (default: 64,128,256);
                       a picture that is smaller than a size is not enlarged
      --output DIR     the directory to write to, created if necessary; existing files are replaced (default: kittens)
      --jobs N         how many steps execute at a time, 1 to \(jobLimit) (default: the number of processors)
      --journal FILE   record finished steps in FILE until the job is done; a job that was killed or interrupted
                       continues when it is run again with the same FILE
      --graph          print the steps as a Mermaid diagram instead of executing them
      --trace FILE     write a trace of the job, for ui.perfetto.dev or chrome://tracing
      --timeline FILE  draw an SVG picture that shows when each step executed, and what it waited for
      --report FILE    report which steps took the most time, and why steps failed or were skipped; as a page if the
                       name ends in .html, otherwise as text; - is standard output
      -h, --help       print this text

    EXIT STATUS: 0 if all pictures were made; 1 if a picture failed (a message on standard error names the file,
    and the other files are still processed); 130 if interrupted by Ctrl-C. A second Ctrl-C
    ends the program immediately.
    """
}
