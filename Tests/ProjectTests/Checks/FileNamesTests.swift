import Testing

@Suite struct FileNamesTests {
  @Test("Each public type stands in the file of its name")
  func publicTypes() {
    Finding.record(FileNames.findings(in: Checkout.files(under: "Sources")))
  }

  @Test(
    "Types in files of another name are found",
    arguments: [
      ("Node.swift", 0), ("Node+Result.swift", 0), ("NodeList.swift", 0), ("Graph.swift", 1), ("Nod.swift", 1),
    ])
  func misplaced(_ file: String, count: Int) {
    let text = "public struct Node { public enum Kind {} }\nstruct Helper {}"
    #expect(FileNames.findings(in: [SourceFile("Sources/M/\(file)", text)]).count == count)
  }
}
