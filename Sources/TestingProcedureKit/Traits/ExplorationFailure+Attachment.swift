#if canImport(Testing)
  internal import Testing
#endif

extension ExplorationFailure {
  /// Writes the files that the environment variables request, and attaches the failure's page to the current test.
  mutating func save() {
    writeFiles()
    #if canImport(Testing)
      guard let test = Test.current else { return }
      attachment = "\(fileName).html"
      Attachment.record(Page(failure: self), named: attachment, sourceLocation: test.sourceLocation)
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
