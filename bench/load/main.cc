// Load generator for servers that speak the NoSQL protocol, and for nginx serving a file.
//   orrery_load --port P --key K setup | containers N | load N | run WORKLOAD
#include <fmt/format.h>

#include <cstdlib>
#include <exception>

#include "load/http_load.h"

namespace {

using namespace orrery::bench;

/// --name value pairs, then positional words.
struct Arguments {
    HttpLoadOptions load;
    WorkloadOptions workload;
    std::vector<std::string> words;
};

Arguments read(int argc, char** argv) {
    Arguments arguments;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (!name.starts_with("--")) {
            arguments.words.push_back(name);
            continue;
        }
        if (i + 1 >= argc) throw std::invalid_argument(name + " needs a value");
        const std::string value = argv[++i];
        if (name == "--port")
            arguments.load.port = static_cast<uint16_t>(std::stoi(value));
        else if (name == "--key")
            arguments.load.key = value;
        else if (name == "--system")
            arguments.load.system = value;
        else if (name == "--path")
            arguments.load.fixed_path = value;
        else if (name == "--connections")
            arguments.load.connections = std::stoul(value);
        else if (name == "--seconds")
            arguments.load.seconds = std::stod(value);
        else if (name == "--items")
            arguments.workload.item_count = std::stoull(value);
        else if (name == "--first")
            arguments.workload.first_created = std::stoull(value);
        else if (name == "--zipfian")
            arguments.workload.zipfian = value == "true";
        else if (name == "--pid")
            arguments.load.server_pids.push_back(std::stoi(value));
        else
            throw std::invalid_argument("unknown option " + name);
    }
    return arguments;
}

int setup(const HttpLoadOptions& options) {
    const int database = send_once(options, "POST", "dbs", "", "dbs", "", R"({"id":"bench"})");
    const int container =
        send_once(options, "POST", "colls", "dbs/bench", "dbs/bench/colls", "",
                  R"({"id":"items","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}})");
    const bool ok = (database == 201 || database == 409) && (container == 201 || container == 409);
    if (!ok) fmt::print(stderr, "setup failed: database {}, container {}\n", database, container);
    return ok ? 0 : 1;
}

int containers(const HttpLoadOptions& options, uint64_t count) {
    send_once(options, "POST", "dbs", "", "dbs", "", R"({"id":"many"})");
    for (uint64_t i = 0; i < count; ++i) {
        const int status =
            send_once(options, "POST", "colls", "dbs/many", "dbs/many/colls", "",
                      fmt::format(R"({{"id":"c{}","partitionKey":{{"paths":["/pk"]}}}})", i));
        if (status != 201) {
            fmt::print(stderr, "container {} was answered with {}\n", i, status);
            return 1;
        }
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        Arguments arguments = read(argc, argv);
        const auto& words = arguments.words;
        if (words.size() == 1 && words[0] == "setup") return setup(arguments.load);
        if (words.size() == 2 && words[0] == "containers")
            return containers(arguments.load, std::stoull(words[1]));
        if (words.size() == 2 && words[0] == "load") {
            arguments.load.operations_max = std::stoull(words[1]);
            arguments.load.quiet = true;
            arguments.workload.name = "create";
            return run_http_load(arguments.load, arguments.workload) == 0 ? 0 : 1;
        }
        if (words.size() == 2 && words[0] == "run") {
            arguments.workload.name = words[1];
            return run_http_load(arguments.load, arguments.workload) == 0 ? 0 : 1;
        }
        fmt::print(
            stderr,
            "usage: orrery_load [--port P] [--key K] [--items N] [--first N] [--zipfian true] "
            "[--seconds S]\n"
            "                   [--connections N] [--pid SERVER] [--system NAME] [--path FILE]\n"
            "                   setup | containers N | load N | run WORKLOAD\n"
            "--items: keys drawn from; --first: key of the first item created\n");
        return 2;
    } catch (const std::exception& error) {
        fmt::print(stderr, "orrery_load: {}\n", error.what());
        return 1;
    }
}
