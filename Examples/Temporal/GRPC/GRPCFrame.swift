/// The framing of gRPC messages. A frame consists of a flag, the length with the most significant byte first, and the message.
enum GRPCFrame {
  /// Returns a frame that contains an uncompressed message.
  static func frame(_ message: [UInt8]) -> [UInt8] {
    let size = UInt32(message.count)
    return [0] + (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * $0)) } + message
  }

  /// Returns the only message in a response.
  ///
  /// - Throws: ``GRPCError`` with status 13 if the frame is truncated or compressed, or if its length differs from the specified one.
  static func message(in body: [UInt8], of method: String) throws(GRPCError) -> ArraySlice<UInt8> {
    func malformed(_ reason: String) -> GRPCError {
      GRPCError(status: GRPCError.internalError, message: "\(method): \(reason)")
    }
    guard body.count >= 5 else {
      throw malformed("the response has \(body.count) bytes, but contains no complete frame")
    }
    guard body[0] == 0 else {
      throw malformed("the response is compressed, although no compression was requested (flag \(body[0]))")
    }
    let length = body[1..<5].reduce(0) { $0 << 8 | Int($1) }
    guard length == body.count - 5 else {
      throw malformed("the frame should contain \(length) bytes, but \(body.count - 5) arrived")
    }
    return body[5...]
  }
}
