import Foundation
import ProcedureKit
import Testing

@testable import ProcedureKitProcess

@Suite(.timeLimit(.minutes(10))) struct ProcessLauncherTests {
  @Test("An input that cannot be stored is the reason that the error states, and not the program or its interpreter")
  func unstoredInput() {
    let missing = FileManager.default.temporaryDirectory.appending(path: "ProcedureKit-\(UUID().uuidString)")
    let request = ProcessRequest("cat", standardInput: Data("kitten".utf8))
    let error = #expect(throws: ProcessError.self) { try ProcessLauncher.launch(request, inputFolder: missing) }
    #expect(error?.kind == .inputFailed)
    let reason = "its standard input could not be written to a temporary file: No such file or directory. "
    #expect(error?.description.contains("was not started because " + reason) == true, "\(String(describing: error))")
  }
}
