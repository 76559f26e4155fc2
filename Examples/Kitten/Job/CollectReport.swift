import ProcedureKit

/// A procedure that sorts the results into written files and errors.
struct CollectReport: Procedure {
  var sources: [Source]

  /// Collects the results in a report.
  ///
  /// - Parameter results: The results for all sources, in the order of the sources. There is one result for each size of each source.
  /// - Returns: The report.
  func execute(_ results: [Result<Thumbnail, any Error>]) async -> Report {
    var report = Report(sourceCount: sources.count)
    let sizeCount = results.count / sources.count
    for start in stride(from: 0, to: results.count, by: sizeCount) {
      var isComplete = true
      for result in results[start..<start + sizeCount] {
        switch result {
        case .success(let thumbnail):
          report.thumbnails.append(thumbnail)
        case .failure(let error):
          isComplete = false
          // A picture that cannot be loaded fails once for each size, always for the same reason.
          let reason = "\(Self.root(of: error))"
          if report.errors.last?.utf8.elementsEqual(reason.utf8) != true { report.errors.append(reason) }
        }
      }
      if !isComplete { report.failedSourceCount += 1 }
    }
    return report
  }

  /// Returns the underlying cause of an error that merely reports a skipped step or a failed condition. The user can act only on the cause.
  private static func root(of error: any Error) -> any Error {
    guard let underlying = (error as? ProcedureError)?.underlying else { return error }
    return root(of: underlying)
  }
}
