import ProcedureKit
import Vapor

/// Shuts down the queue with the application, and cancels the remaining procedures after the grace period.
struct QueueLifecycle: LifecycleHandler {
  let queue: ProcedureQueue

  func shutdownAsync(_ application: Application) async {
    await queue.shutDown(grace: .seconds(20))
  }
}

func configure(_ app: Application, _ jobs: ProcedureQueue) {
  app.lifecycle.use(QueueLifecycle(queue: jobs))
  let render = ProcedureTask("render") { (name: String) in "a picture of \(name)" }.timeout(.seconds(10))
  app.post("render", ":name") { request async throws -> String in
    let name = try request.parameters.require("name")
    let tenant = request.headers.first(name: "X-Tenant") ?? ""
    let job: ProcedureHandle<String>
    do throws(ProcedureError) {
      job = try jobs.tryAdd(render.keyed(by: tenant), input: name)
    } catch {
      throw Abort(error.key != nil ? .tooManyRequests : .serviceUnavailable, reason: "try again later")
    }
    return try await job.value
  }
}
