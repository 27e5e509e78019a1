# What the kernels of constraints are told. Arrays of numbers are of the state's dtype.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from .crew cimport Crew
from .events cimport Told

cdef enum:
    PAIRS_PER_BODY = 16     # so many near pairs there may be; of a crowd, so many partners each body looks for
    MOST_ROWS = 9           # of cells around a cell
    MOST_CLASSES = 15       # of size
    NOWHERE = 255           # the class of bodies that do not live
    CONTACT = 17            # numbers of a contact beside its two vectors
    TRAITS = 8              # see `traits` of Contacts
    GAIN = 4                # of which the last ones begin here
    MEETING = 4             # of what is told of one, beside two vectors
    SPIN = 8                # numbers of a rotating body in `spin` of Contacts
    TWIST = 12              # and of a contact of such bodies, beside CONTACT
    SHAPES_PER_BODY = 8     # that a body may touch in a step among others: the nearest
    COLOURS = 64            # of which a body knows which are taken; contacts without one come last
    SHARED = 512            # pairs of a stage from which on a crew takes less time than its leader alone
    HELD_ROW = 4            # numbers in the row of a body that pairs hold: its vector, and what nobody reads
    DIRECTION = 3           # the bits of `how` that say along which line a pair pulls,
    SOFT = 4                # and whether it has compliance

cdef enum ConstraintKind:
    PIN
    DISTANCE
    BOX
    PLANE
    COLLISIONS
    CONTACTS
    CORNERS
    SENSOR
    SHAPES
    PERIODIC
    MOVING          # shapes that move


cdef inline bint is_static(ConstraintKind kind) noexcept nogil:
    """Does a constraint of this kind act on each body by itself, by what stands still?"""
    return kind == BOX or kind == PLANE or kind == CORNERS or kind == SENSOR or kind == SHAPES or kind == PERIODIC


# Is there a reason to stop? For what takes long within a step, which then returns INTERRUPTED.
ctypedef bint (*Look)(void* owner) noexcept nogil

# The space of a periodic box: numbers along each axis, all 0 along open ones. Open space has NULL for a width.
ctypedef struct Torus:
    const void* lower
    const void* upper
    const void* width
    const void* per_width

ctypedef struct Periodic:
    Torus torus
    const void* weight          # of each body: 0 for those that do not live

ctypedef struct Pin:
    int64_t count
    const int64_t* index

# Pairs in stages, of which each follows the one before; those of one stage have no body in common, and pull alike.
# They find their bodies in rows of HELD_ROW numbers, which come and go with each step.
ctypedef struct Distance:
    Torus torus
    int64_t stages
    const int64_t* stage        # where each begins, and the last ends
    # Of each: 0: along the line after the step; 1: before it; 2: so, and velocities along it end too; and SOFT.
    const uint8_t* how
    int64_t members             # bodies in rows
    const int32_t* member       # which they are,
    const int32_t* place        # and at which number the row of each begins
    const int32_t* first        # the same for each pair's first body
    const int32_t* second
    const void* length
    const void* move_first
    const void* move_second
    int64_t direction           # the greatest of all stages
    const void* compliance      # NULL where no pair has any; of those that have none < 0
    const void* drag_first
    const void* drag_second
    double response[4]
    # Workspace.
    void* was                   # positions
    void* row                   # vectors of members
    void* way                   # component after component, of each pair
    void* force                 # how much each was pulled along itself
    void* pull                  # the same, of velocities; of pairs that are not compliant: > 0 where they are left
    void* share_first           # where any pair has compliance: a number for each
    void* share_second
    void* alpha
    int64_t iterations
    const void* at_rest         # of what forces add to a body's velocity, the share it reads at rest; NULL for none
    Look look
    Crew* crew                  # who helps with large stages, while a job runs; or NULL

# A number for all bodies or one for each: then bodies are one apart, else zero.
ctypedef struct Each:
    const void* number
    int64_t body

# The rotation of bodies, for what turns them by friction. It outlives steps, and bodies have the same places in it
# wherever their positions are: in a tile or in a workspace.
ctypedef struct Spin:
    void* w                         # rad/s: 1 plane of `stride` numbers, or 3 in space; NULL: nothing rotates
    int64_t stride
    const void* inverse_inertia     # 1/I of each body; 0 where its mass or inertia is infinite

ctypedef struct Wall:
    const void* lower           # of a box
    const void* upper
    const void* normal          # of a plane
    const void* offset
    Each restitution, friction, radius
    const void* weight
    double lag
    const uint8_t* sensor       # of each body: 1 where it reports and goes through, 2 where it goes through; or NULL
    const uint8_t* only         # of each body: is it constrained in this call? NULL: all are
    const uint8_t* alive        # of each body; NULL: all are
    Told* told                  # or NULL
    Spin spin
    const void* belt            # speed along (-n_y, n_x), and a velocity whose part along the surface counts; or NULL

# The motion of shapes. Its numbers are doubles, whatever those of bodies are: places do not drift in float32.
ctypedef struct Motion:
    const double* state         # of each shape: displacement, angle, velocity, angular velocity; NULL: they do not move
    const double* lower         # (shapes, dim): where displacement and angle are 0
    const double* upper
    const double* center
    const double* far           # of each shape: the distance of its ends from its center
    int64_t count
    double now                  # s after the beginning of the step: where the shapes are laid out
    double way                  # m that a surface moves in the step at most

# Shapes in a tree: a node with a count is a leaf, the others have two nodes below, at `first` and after it.
ctypedef struct Shapes:
    Wall wall                   # restitution, friction, and so on
    bint segments               # or boxes
    void* lower                 # (shapes, dim), those of all numbers
    void* upper
    const void* one_way         # (shapes, dim): the direction above each, see the reference; or NULL
    Each reach                  # of bodies: how near they come
    int64_t count
    const uint8_t* enabled
    const int64_t* number       # of the shapes in the leaves
    double* bounds              # of each node: lower corner, upper corner
    const int64_t* first
    const int64_t* leaves       # how many shapes, or 0
    int64_t nodes
    Motion motion

ctypedef struct Sensor:
    const void* lower           # or the center
    const void* upper           # or the radius
    bint ball
    const uint8_t* watched
    const uint8_t* alive        # or NULL: all live
    Told* told

# Corrects bodies after a step: from `first` to `last` where the constraint is static, or all `last` of them. before:
# positions before the step; gain: velocity changes by the forces of the step; s: Verlet's previous positions, or NULL;
# owner: the argument of a Look.
ctypedef int (*ConstraintFunction)(
    ConstraintKind kind, double h, int64_t first, int64_t last, int64_t dim, int64_t stride,
    const void* before, const void* gain, void* x, void* v, void* s, const void* data,
    void* owner,
) noexcept nogil

ctypedef struct ConstraintCall:
    ConstraintFunction function
    ConstraintKind kind
    const void* data
    Told* told                  # what it has to report; or NULL

cdef enum:
    TESTS = 2_000_000       # of distances between two looks for Ctrl-C: some milliseconds

# What a search for pairs has come to.
cdef enum Found:
    ALL
    CROWD
    GIVEN_UP

# Finds the partners of bodies that are sorted into slots and of one class of size, in open space: alike.pxd.
ctypedef Found (*FindAlike)(int64_t dim, int64_t n, const void* data, void* owner, const void* like) noexcept nogil

ctypedef struct Collisions:
    Torus torus
    FindAlike find_alike
    const void* radius
    const void* weight
    Each restitution
    Each friction               # its number is NULL where there is none
    double lag                  # velocities are those of positions after so many more steps
    const uint64_t* category    # of each body, and NULL where all meet all
    const uint64_t* mask_bits
    const uint8_t* sensor       # of each body: does it report, and push nothing? or NULL
    Told* told                  # or NULL
    Spin spin
    bint swept                  # are bodies followed on their way?
    # Workspace for those that are; and of the bodies that are sought, by their ways, what these are.
    void* since                 # of each body: how long ago its present straight way began
    void* earliest              # and when it touches first
    int64_t* which              # at which place of the partners
    int32_t* last               # whom it has touched last
    void* time                  # of each place: how long ago, or 0
    void* middle                # of each body's way
    void* extent                # its radius, and half of its way
    uint8_t* way_class          # the class of that
    const void* on_way_x        # positions, velocities, radii and the step, where ways are sought; else NULL
    const void* on_way_v
    const void* on_way_radius
    int64_t on_way_stride
    double on_way_h
    int64_t iterations
    uint8_t* moved              # of each body: since walls were applied last
    int64_t walls               # that bodies may be pushed into
    const ConstraintCall* wall
    int64_t classes             # of size, but for points; the largest bodies first
    bint points                 # are there bodies without size?
    const uint8_t* size_class   # of each body
    double per_cell[MOST_CLASSES]   # 1 / width of a cell, more than any pair reaches whose larger body is there
    uint64_t mask               # buckets less one
    uint64_t step[3]            # from a cell to the next along each axis, in buckets
    int64_t rows                # of three cells around a cell and in it
    uint64_t row[MOST_ROWS]     # from a cell to the first cell of each
    # In a periodic box instead of steps and rows, of each class along each axis: how many cells, and 1 / width.
    int64_t cells[3 * MOST_CLASSES]
    double per_width[3 * MOST_CLASSES]
    # Workspace.
    int32_t* start              # of each bucket: its first slot
    uint32_t* bucket            # of each body
    int32_t* body               # in each slot: bodies sorted by bucket, then index
    void* place                 # of the body in each slot: positions, component after component, and radii
    int64_t* begin              # of each body's partners
    int32_t* count              # and how many they are
    int32_t* partner
    int32_t* next               # of each bucket: the first slot of those whose turn has not come
    int32_t* lower              # of each pair, as they are found: its body of lower index,
    int32_t* higher             # and the other one
    Look look

# What is done with blocks of contacts in one sweep.
cdef enum:
    BEGIN           # the numbers of contacts between bodies
    RESUME          # the impulses of the step before
    WARM            # those of the substep before, in the direction of now
    SOLVE           # new ones

ctypedef struct Sweep:
    int kind
    int64_t dim
    bint alone      # one contact after the other, as they may have bodies in common
    bint told       # does anybody want to know who meets?
    double h        # of a substep, in seconds
    bint extra      # only those that hang together with some that are deep?
    double soft, scale
    double left     # of the step, in seconds
    double given    # substeps whose forces velocities have been given
    double count    # of all substeps
    double lead     # how many of them a velocity is ahead by, before the step

# Blocks first to last, of `lanes` contacts each; are any deep in each other? See constraints/contact_lanes.pxd.
ctypedef bint (*Press)(const void* contacts, const Sweep*, int64_t first, int64_t last, const void* like) noexcept nogil

ctypedef struct Contacts:
    Collisions grid             # radius, weight, where pairs are looked for; and whom to ask for a reason to stop
    const void* restitution     # of each body
    const void* friction
    int64_t faces               # of walls: their normals, offsets, and frictions with each body
    const void* normal
    const void* offset
    const void* wall_friction
    const void* wall_belt       # of each wall, as `belt` of Wall; or NULL
    const uint8_t* through      # of each wall and body: 1 where it reports and goes through, 2 where it goes; or NULL
    int64_t parts               # of shapes, which are numbered one part after the other
    const Shapes* shapes        # of each part; its `sensor` is as `through`
    bint moves                  # does any of them?
    const int64_t* shape_begin  # the number of its first shape; and how many there are
    const void* shape_friction  # of each part with each body
    int64_t n                   # bodies
    int64_t lanes               # contacts that are solved at once
    Press press
    int64_t rods
    const int32_t* rod_first
    const int32_t* rod_second
    const void* length
    const void* compliance
    const int32_t* number       # of each rod that is not cut, among those declared
    int64_t declared
    int64_t sweeps              # over all rods
    const void* stiffness
    int64_t substeps
    double lag
    uint8_t* moved              # may each body be moved?
    # What outlives the step: see kickdrift/rollback/impulses.py.
    int64_t* state
    int32_t* pair[2]
    void* push[2]
    void* pull[2]
    # Workspace.
    # Velocity and position of each body, then of each wall, then of all shapes; and a row that nobody reads.
    void* body
    # TRAITS numbers of each: radius, weight, friction, restitution; and what forces give its velocity.
    void* traits
    # Where bodies rotate, SPIN numbers of each: angular velocity, from number 4 on radius, 1/I, rolling, and the radius
    # again, infinite for walls; and TWIST numbers of each contact, in blocks as below.
    void* spin
    void* twist
    const void* rolling         # of each body; or NULL: 0
    int64_t axes                # numbers of an angular velocity; 0 where nothing rotates
    void* surface               # of each contact the velocity of the wall or shape, MAX_DIM numbers in blocks; or NULL
    int32_t* one                # of each contact, in ascending order
    int32_t* other
    uint8_t* colour
    int32_t* known              # which impulse of the step before is its own, or -1
    int32_t* place              # behind which others it is solved: colours begin with blocks, whose rest pushes nobody
    int32_t* first              # of each contact, in this order
    int32_t* second
    int32_t* first_row          # where its velocity goes: nobody's where nothing moves it
    int32_t* second_row
    # In blocks of `lanes` contacts: the first number of each, then the second of each, and so on.
    void* contact
    void* meeting               # of each contact, in this order, where somebody is told
    # How many contacts there are, at how many places those are that push, how many push at shapes, and before which
    # place no two of a block have a body in common.
    int64_t* found
    int32_t* leaning            # which contacts those are
    void* rod
    int32_t* group              # of each body: those of one hang together by what may be moved
    uint8_t* deep               # are any of a group deep in each other?
    uint64_t* taken             # colours of each body
    uint8_t* touched

# Walls as planes, `faces` of them; of each with each body: restitution, friction, radius.
ctypedef struct Corners:
    int64_t n                   # bodies
    int64_t faces
    const void* normal
    const void* offset
    const void* restitution
    const void* friction
    const void* radius
    const void* weight
    double lag
    const uint8_t* through      # of each wall and body: is it other than 0 where it goes through? or NULL
    const int64_t* number       # under which each reports
    Told** told                 # of each: its wall's; or NULL
    Spin spin
    const void* belt            # of each, as of Wall; or NULL
    # Workspace: the walls of a corner, with sizes and impulses.
    int32_t* there
    void* size
    void* push
