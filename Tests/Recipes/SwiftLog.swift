import Logging
import ProcedureKit

struct SwiftLogHandler: ProcedureLogHandler {
  let logger: Logger

  func handle(_ message: ProcedureLogMessage) {
    logger.log(
      level: Logger.Level(rawValue: message.level.description) ?? .notice, "\(message.text)",
      metadata: message.metadata.mapValues { .string($0) }, source: "ProcedureKit", file: message.file,
      function: message.function, line: message.line)
  }
}

var logger = Logger(label: "com.example.photos")
logger.logLevel = .trace  // the level of the ProcedureLog decides
ProcedureLog.shared = ProcedureLog(level: .info, to: SwiftLogHandler(logger: logger))
