/* Runs a script of calls with the answers that Python expects, wherever board.h can read a file.
 *
 * A script is 32-bit words, little-endian: an operation, its input, its expected output. tests/device/script.py writes
 * it. The first answer that differs ends the run with an error. For each kind of call, the instructions of the calls
 * are added up and printed, where the board counts them.
 */
#include "board/board.h"
#include "bitreplay.h"

#include <string.h>

enum { END, LAYOUT, FILL, ENROL, FORGET, WORDS, SCORES, STORE, LOAD, HEAD, HEAD_SCORES, BINARIZE, NETWORK, EMBED };

#define ARENA 800000u /* words */
#define MOST 2048u    /* classes, and words of an embedding */

static uint32_t arena[ARENA];
static uint32_t arena_used;
static uint32_t memory_words[ARENA / 4u];
static uint32_t bits[MOST];
static uint32_t expected[MOST];
static int32_t scores[MOST];
static int32_t file;

static int16_t log_probability[256];
static bitreplay_layout layout;
static bitreplay_memory memory;
static bitreplay_head head;
static bitreplay_layer layers[32];
static uint8_t pixel_levels[256];
static bitreplay_network network;

static void fail(const char *what)
{
    board_print("FAILED: ");
    board_print(what);
    board_print("\n");
    board_exit(1);
}

static void require(int holds, const char *what)
{
    if (!holds)
        fail(what);
}

/* ------------------------------------------------------------------ reading */

static uint32_t word(void)
{
    uint8_t bytes[4];
    require(board_read(file, bytes, 4) == 0, "the script ends too soon");
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* Words of the script as numbers of this machine, whatever the order of its bytes. */
static void read_words(uint32_t *to, uint32_t n)
{
    uint32_t i;
    if (n == 0)
        return;
    require(board_read(file, to, 4u * n) == 0, "the script ends too soon");
    for (i = 0; i < n; i++) {
        const uint8_t *b = (const uint8_t *)(to + i);
        to[i] = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    }
}

static uint32_t *keep(uint32_t n)
{
    uint32_t *room = arena + arena_used;
    require(n <= ARENA - arena_used, "the arena is full");
    arena_used += n;
    return room;
}

static uint32_t *read_kept(uint32_t n)
{
    uint32_t *room = keep(n);
    read_words(room, n);
    return room;
}

/* Bytes of the script, which fill whole words. */
static uint8_t *read_bytes(uint32_t n)
{
    uint8_t *room = (uint8_t *)keep((n + 3u) / 4u);
    require(board_read(file, room, (n + 3u) / 4u * 4u) == 0, "the script ends too soon");
    return room;
}

/* ------------------------------------------------------------------ what was counted */

static struct {
    const char *name;
    uint32_t calls;
    uint64_t instructions;
} counted[EMBED + 1];
static uint32_t before;

static void begin(void)
{
    before = board_ticks();
}

static void end(uint32_t operation, const char *name)
{
    counted[operation].name = name;
    counted[operation].calls++;
    counted[operation].instructions += board_instructions(before, board_ticks());
}

static void print_counted(void)
{
    uint32_t i;
    for (i = 0; i <= EMBED; i++) {
        if (counted[i].calls == 0)
            continue;
        board_print(counted[i].name);
        board_print(" calls ");
        board_print_number(counted[i].calls);
        board_print(" instructions ");
        board_print_number((uint32_t)(counted[i].instructions / counted[i].calls));
        board_print("\n");
    }
}

/* ------------------------------------------------------------------ operations */

static void read_layout(void)
{
    uint32_t i;
    layout.features = (uint16_t)word();
    layout.min_count = (uint16_t)word();
    layout.bits = (uint8_t)word();
    layout.prototypes = (uint8_t)word();
    layout.starts = (uint8_t)word();
    layout.warm_up = (uint8_t)word();
    layout.steps = (uint8_t)word();
    layout.fingerprint = word();
    for (i = 0; i < 1u << layout.bits; i++)
        log_probability[i] = (int16_t)((int32_t)word() - 65536);
    layout.log_probability = log_probability;
    require(bitreplay_open(&layout, &memory, memory_words, word()) == BITREPLAY_OK, "open");
    require(memory.capacity <= sizeof memory_words / 4u, "the memory is too large for the runner");
}

static void fill(void)
{
    memory.classes = word();
    memory.used = word();
    require(memory.used <= memory.capacity, "fill");
    read_words(memory.room, memory.used);
}

static void enrol(void)
{
    const uint32_t label = word(), n = word(), d = layout.features, k = layout.prototypes;
    const uint32_t *samples = read_kept(n * BITREPLAY_WORDS(d));
    bitreplay_scratch scratch;
    scratch.n_counts = BITREPLAY_COUNTS(k, d);
    scratch.n_shares = BITREPLAY_SHARES(n, k);
    scratch.n_levels = BITREPLAY_LEVELS(k, d);
    scratch.counts = keep(scratch.n_counts);
    scratch.shares = (uint16_t *)keep((scratch.n_shares + 1u) / 2u);
    scratch.levels = (uint8_t *)keep((scratch.n_levels + 3u) / 4u);
    begin();
    require((uint32_t)bitreplay_enrol(&layout, &memory, label, samples, n, &scratch) == word(), "status of enrol");
    end(ENROL, "enrol");
}

static void compare_words(void)
{
    const uint32_t classes = word(), n = word();
    uint32_t i;
    require(classes == memory.classes && n == memory.used, "size of the memory");
    for (i = 0; i < n; i++)
        require(word() == memory.words[i], "words of the memory");
}

static void compare_scores(int from_head)
{
    const uint32_t n = word(), features = from_head ? head.features : layout.features;
    const uint32_t classes = from_head ? head.classes : memory.classes;
    uint32_t i, c, label, best;
    int32_t score;
    require(classes <= MOST, "the scores are too many for the runner");
    for (i = 0; i < n; i++) {
        read_words(bits, BITREPLAY_WORDS(features));
        read_words(expected, classes);
        begin();
        require((from_head ? bitreplay_head_scores(&head, bits, scores, classes)
                           : bitreplay_scores(&layout, &memory, bits, scores, classes)) == BITREPLAY_OK, "scores");
        end(from_head ? HEAD_SCORES : SCORES, from_head ? "head_scores" : "scores");
        for (c = 0, best = 0; c < classes; c++) {
            require((uint32_t)scores[c] == expected[c], "scores");
            if (scores[c] > scores[best])
                best = c;
        }
        require((from_head ? bitreplay_head_predict(&head, bits, &label, &score)
                           : bitreplay_predict(&layout, &memory, bits, &label, &score)) == BITREPLAY_OK, "predict");
        if (!from_head)
            require(bitreplay_label(&layout, &memory, best, &best) == BITREPLAY_OK, "label");
        require(label == best, "predict");
    }
}

typedef struct {
    uint8_t *bytes;
    uint32_t used, size;
} sink;

static int write_to(void *context, uint32_t offset, const uint8_t *bytes, uint32_t n_bytes)
{
    sink *to = context;
    if (offset != to->used || n_bytes > to->size - to->used)
        return 1;
    memcpy(to->bytes + offset, bytes, n_bytes);
    to->used += n_bytes;
    return 0;
}

static void store(void)
{
    const uint32_t sequence = word(), n = word();
    const uint8_t *block = read_bytes(n);
    sink to;
    to.bytes = (uint8_t *)keep((n + 3u) / 4u);
    to.used = 0;
    to.size = n;
    begin();
    require(bitreplay_store(&layout, &memory, sequence, write_to, &to) == BITREPLAY_OK, "store");
    end(STORE, "store");
    require(to.used == n && memcmp(to.bytes, block, n) == 0, "bytes of the block");
}

static void load(void)
{
    const uint32_t n = word();
    const uint8_t *block = read_bytes(n);
    begin();
    require((uint32_t)bitreplay_load(&layout, &memory, block, n, NULL) == word(), "status of load");
    end(LOAD, "load");
}

static void read_head(void)
{
    uint32_t rows, i;
    int32_t *biases, *scales;
    head.features = (uint16_t)word();
    head.classes = (uint16_t)word();
    head.squares = (uint8_t)word();
    head.weight_bits = (uint8_t)word();
    head.shift = (uint8_t)word();
    head.score_shift = (uint8_t)word();
    rows = head.classes * (head.squares + 1u);
    head.planes = read_kept(rows * head.weight_bits * BITREPLAY_WORDS(head.features));
    biases = (int32_t *)keep(rows);
    scales = (int32_t *)keep(rows);
    for (i = 0; i < 2u * rows; i++) /* moved up by 2^31, so that nothing depends on how negative numbers are read */
        (i < rows ? biases : scales - rows)[i] = (int32_t)((int64_t)word() - 2147483648LL);
    head.biases = biases;
    head.scales = scales;
}

/* Features and thresholds come as words, moved up by 65536. */
static int32_t small(void)
{
    return (int32_t)word() - 65536;
}

static void binarize(void)
{
    const uint32_t kind = word(), inputs = word(), per_input = word(), stride = word(), n_values = word();
    const uint32_t rows = word(), words = BITREPLAY_WORDS(inputs * per_input);
    int16_t *narrow = (int16_t *)keep(n_values), *features16 = (int16_t *)keep(inputs);
    int32_t *wide = (int32_t *)keep(n_values);
    uint8_t *features8 = (uint8_t *)features16;
    bitreplay_thresholds_8 thresholds_8;
    bitreplay_thresholds_16 thresholds_16;
    uint32_t i, row, status;
    for (i = 0; i < n_values; i++) {
        wide[i] = small();
        narrow[i] = (int16_t)wide[i];
    }
    thresholds_8.inputs = thresholds_16.inputs = (uint16_t)inputs;
    thresholds_8.per_input = thresholds_16.per_input = (uint16_t)per_input;
    thresholds_8.stride = thresholds_16.stride = (uint16_t)stride;
    thresholds_8.values = narrow;
    thresholds_16.values = wide;
    for (row = 0; row < rows; row++) {
        for (i = 0; i < inputs; i++) {
            const int32_t feature = small();
            if (kind == 2u)
                features16[i] = (int16_t)feature;
            else
                features8[i] = (uint8_t)(feature & 0xFF);
        }
        read_words(expected, words);
        begin();
        status = (uint32_t)(kind == 0   ? bitreplay_binarize_u8(&thresholds_8, features8, bits)
                            : kind == 1u ? bitreplay_binarize_s8(&thresholds_8, (const int8_t *)features8, bits)
                                         : bitreplay_binarize_s16(&thresholds_16, features16, bits));
        end(BINARIZE, "binarize");
        require(status == BITREPLAY_OK && memcmp(bits, expected, 4u * words) == 0, "bits of features");
    }
}

static void read_network(void)
{
    uint32_t i, j;
    network.layers = layers;
    network.n_layers = (uint8_t)word();
    network.colours = (uint8_t)word();
    network.levels = (uint8_t)word();
    network.scratch_words = word();
    network.map_words = word();
    network.pixel_levels = pixel_levels;
    require(network.n_layers <= sizeof layers / sizeof layers[0], "the layers are too many for the runner");
    for (i = 0; i < 256u; i++)
        pixel_levels[i] = (uint8_t)word();
    for (i = 0; i < network.n_layers; i++) {
        bitreplay_layer *layer = layers + i;
        int16_t *limits;
        uint32_t n_weights;
        layer->height = (uint16_t)word();
        layer->width = (uint16_t)word();
        layer->channels = (uint16_t)word();
        layer->outputs = (uint16_t)word();
        layer->groups = (uint16_t)word();
        layer->size = (uint8_t)word();
        layer->stride = (uint8_t)word();
        layer->padding = (uint8_t)word();
        layer->pool = (uint8_t)word();
        n_weights = word();
        layer->weights = read_kept(n_weights);
        limits = (int16_t *)keep(layer->outputs);
        for (j = 0; j < layer->outputs; j++)
            limits[j] = (int16_t)small();
        layer->limits = limits;
        layer->flips = read_kept(BITREPLAY_WORDS(layer->outputs));
    }
}

static void embed(void)
{
    const uint32_t n = word(), n_bytes = (uint32_t)layers[0].height * layers[0].width * network.colours;
    const uint32_t words = BITREPLAY_WORDS(layers[network.n_layers - 1u].outputs);
    uint32_t *scratch = keep(network.scratch_words);
    uint32_t i, used = arena_used;
    for (i = 0; i < n; i++, arena_used = used) {
        const uint8_t *image = read_bytes(n_bytes);
        read_words(expected, words);
        begin();
        require(bitreplay_embed(&network, image, scratch, network.scratch_words, bits) == BITREPLAY_OK, "embed");
        end(EMBED, "embed");
        require(memcmp(bits, expected, 4u * words) == 0, "bits of an image");
    }
}

int main(void)
{
    uint32_t operation, kept = 0;
    file = board_open();
    require(file >= 0, "no script: give its name on the command line");
    while ((operation = word()) != END) {
        arena_used = kept;
        switch (operation) {
        case LAYOUT: read_layout(); break;
        case FILL: fill(); break;
        case ENROL: enrol(); break;
        case FORGET:
            {
                const uint32_t label = word();
                begin();
                require((uint32_t)bitreplay_forget(&layout, &memory, label) == word(), "status of forget");
                end(FORGET, "forget");
            }
            break;
        case WORDS: compare_words(); break;
        case SCORES: compare_scores(0); break;
        case STORE: store(); break;
        case LOAD: load(); break;
        case HEAD:
            arena_used = 0; /* a head or a network replaces the one before */
            read_head();
            kept = arena_used;
            break;
        case HEAD_SCORES: compare_scores(1); break;
        case BINARIZE: binarize(); break;
        case NETWORK:
            arena_used = 0;
            read_network();
            kept = arena_used;
            break;
        case EMBED: embed(); break;
        default: fail("an unknown operation"); break;
        }
    }
    print_counted();
    board_print("all answers are those of Python; stack ");
    board_print_number(board_stack_bytes());
    board_print("\n");
    return 0;
}
