#if canImport(Testing)
  internal import Testing
#endif

extension ExplorationFailure {
  /// Writes the files that the environment variables request, and attaches the failure's page to the current test.
  mutating func save() {
    #if canImport(Testing)
      let current = Test.current
      test = current?.key ?? ""
    #endif
    writeFiles()
    #if canImport(Testing)
      guard let current else { return }
      attachment = "\(fileName).html"
      Attachment.record(Page(failure: self), named: attachment, sourceLocation: current.sourceLocation)
    #endif
  }
}

#if canImport(Testing)
  extension ExplorationFailure {
    /// The page as an attachment. The page is created only if attachments are written.
    fileprivate struct Page: Attachable {
      let failure: ExplorationFailure

      func withUnsafeBytes<R>(
        for attachment: borrowing Attachment<Page>, _ body: (UnsafeRawBufferPointer) throws -> R
      ) throws -> R {
        try Array(failure.html.utf8).withUnsafeBytes(body)
      }
    }
  }
#endif
