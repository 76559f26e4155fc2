#if canImport(Testing)
  internal import Testing
#endif

extension ExplorationFailure {
  /// Saves the failure for people who read about it later: in the files that the environment asks for, and as an attachment of the test.
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
    /// The page as an attachment. It is made only if attachments are written.
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
