import ProcedureKit

/// The results of a job.
struct Report: Equatable, Sendable {
  /// The files that were written, in the order of the sources and sizes.
  var thumbnails: [Thumbnail] = []

  /// The reasons other files were not written, without duplicates.
  var errors: [String] = []

  var sourceCount = 0

  /// The number of sources for which at least one result is missing.
  var failedSourceCount = 0

  /// Returns a table of the files that were written, one per line.
  func table(times: [SystemText: Duration]) -> String {
    var table = Table(header: ["name", "size", "bytes", "time"])
    for thumbnail in thumbnails {
      let name = thumbnail.fileName
      let time = [Step.resize(name), Step.write(name)].reduce(Duration.zero) { $0 + (times[SystemText($1)] ?? .zero) }
      table.append([
        name.description, "\(thumbnail.width) × \(thumbnail.height)", "\(thumbnail.byteCount)", time.inMilliseconds,
      ])
    }
    return table.text
  }

  /// Returns a one-sentence summary.
  ///
  /// - Parameters:
  ///   - directory: The directory that contains the results.
  ///   - duration: The duration of the job.
  /// - Returns: The sentence, without a full stop.
  func summary(directory: SystemText, duration: Duration) -> String {
    let bytes = thumbnails.reduce(0) { $0 + $1.byteCount }
    let written =
      thumbnails.isEmpty
      ? "nothing written"
      : "\(thumbnails.count) \(thumbnails.count == 1 ? "file" : "files") written to \(directory), \(bytes) bytes"
    let failed = failedSourceCount == 0 ? "" : "; \(failedSourceCount) of \(sourceCount) pictures failed"
    return "\(written), in \(duration.inMilliseconds)\(failed)"
  }
}

extension Duration {
  /// The duration in milliseconds, for example `12.3 ms`.
  fileprivate var inMilliseconds: String {
    "\((self / .milliseconds(0.1)).rounded() / 10) ms"
  }
}
