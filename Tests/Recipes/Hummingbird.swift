import Hummingbird
import ProcedureKit
import ProcedureKitFoundation
import ServiceLifecycle

func serve(_ jobs: ProcedureQueue) async throws {
  let render = ProcedureTask("render") { (name: String) in "a picture of \(name)" }.timeout(.seconds(10))
  let router = Router()
  router.post("render/:name") { _, context -> String in
    let name = try context.parameters.require("name")
    let job: ProcedureHandle<String>
    do {
      job = try jobs.tryAdd(render, input: name)
    } catch {
      throw HTTPError(.serviceUnavailable, message: "try again later")  // full, or shut down
    }
    return try await job.value
  }
  var app = Application(router: router, configuration: .init(address: .hostname("127.0.0.1", port: 8080)))
  app.addServices(ProcedureQueueService(jobs, grace: .seconds(20)) { try await gracefulShutdown() })
  try await app.runService()
}

// swift-format-ignore: AvoidRetroactiveConformances
extension ProcedureQueueService: @retroactive Service {}
