import Testing

@testable import temporal

@Suite struct GRPCFrameTests {
  @Test("A message is read back from its frame", arguments: [0, 1, 5, 300])
  func whole(_ count: Int) throws {
    let message = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    #expect(Array(try GRPCFrame.message(in: GRPCFrame.frame(message), of: "Poll")) == message)
  }

  @Test("A frame that is cut, compressed, of a different length, or followed by another frame is a permanent error")
  func malformed() {
    let frame = GRPCFrame.frame([1, 2, 3])
    var bodies = (0..<frame.count).map { Array(frame.prefix($0)) }
    bodies += [frame + [0], frame + frame, [1] + frame.dropFirst(), [0xff] + frame.dropFirst()]
    bodies += [[0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3], [0, 0, 0, 0, 0, 7]]
    for body in bodies {
      let error = #expect(throws: GRPCError.self, "\(body)") { try GRPCFrame.message(in: body, of: "Poll") }
      #expect(error?.status == GRPCError.internalError && error?.isTransient == false)
    }
  }
}
